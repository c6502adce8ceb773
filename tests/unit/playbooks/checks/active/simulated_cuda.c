/* A simulated libcuda.so.1 for tests: memory is malloc, FAKE_FAIL=CALL:CODE makes a call fail, FAKE_WRONG loses a copy. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <stdint.h>

static int code(const char *call) {
    const char *said = getenv("FAKE_FAIL");
    size_t length = strlen(call);
    if (said && strncmp(said, call, length) == 0 && said[length] == ':')
        return atoi(said + length + 1);
    return 0;
}

int cuInit(unsigned flags) { return code("cuInit"); }
int cuGetErrorName(int error, const char **text) { *text = "CUDA_ERROR_SIMULATED"; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return code("cuDriverGetVersion"); }
int cuDeviceGetCount(int *count) { *count = 2; return code("cuDeviceGetCount"); }
int cuDeviceGet(int *device, int index) { *device = index; return index < 2 ? code("cuDeviceGet") : 101; }
int cuDevicePrimaryCtxRetain(void **made, int device) { *made = malloc(1); return code("cuDevicePrimaryCtxRetain"); }
int cuDevicePrimaryCtxRelease_v2(int device) { return code("cuDevicePrimaryCtxRelease_v2"); }
int cuCtxSetCurrent(void *made) { return code("cuCtxSetCurrent"); }
int cuMemAlloc_v2(uint64_t *place, size_t size) { *place = (uint64_t)malloc(size); return code("cuMemAlloc_v2"); }
int cuMemFree_v2(uint64_t place) { free((void *)place); return code("cuMemFree_v2"); }
int cuMemsetD8_v2(uint64_t place, unsigned char value, size_t count) { memset((void *)place, value, count); return 0; }
int cuMemsetD32_v2(uint64_t place, unsigned value, size_t count) {
    for (size_t at = 0; at < count; at++) ((unsigned *)place)[at] = value;
    return 0;
}
int cuCtxSynchronize(void) {
    if (getenv("FAKE_HANG")) sleep(60);
    return code("cuCtxSynchronize");
}
int cuDeviceCanAccessPeer(int *can, int one, int other) { *can = 1; return 0; }
int cuMemcpyPeer(uint64_t target, void *to, uint64_t source, void *from, size_t size) {
    if (!getenv("FAKE_WRONG")) memcpy((void *)target, (void *)source, size);
    return code("cuMemcpyPeer");
}
int cuMemcpyDtoH_v2(void *back, uint64_t place, size_t size) { memcpy(back, (void *)place, size); return 0; }
