"""What `nvidia-smi -q` tells of a GPU's health reads the same from its text and its XML."""

from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.gpu.nvidia import gpu_fact
from inventory.facts.gpu.nvidia_csv import parse_rows, read_row
from inventory.facts.gpu.nvidia_text import parse_text
from inventory.facts.gpu.nvidia_xml import parse_xml
from inventory.facts.host import GpuHealth

XML = """<?xml version="1.0" ?><nvidia_smi_log><driver_version>580.1</driver_version><gpu id="00000008:01:00.0">
<product_name>NVIDIA GB200</product_name><vbios_version>97.00.B9.00.69</vbios_version>
<platformInfo><peer_type>Switch Connected</peer_type></platformInfo>
<gpu_recovery_action>None</gpu_recovery_action>
<clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
<clocks_event_reason_hw_slowdown>Active</clocks_event_reason_hw_slowdown>
<clocks_event_reason_sw_thermal_slowdown>Not Active</clocks_event_reason_sw_thermal_slowdown></clocks_event_reasons>
<fb_memory_usage><total>189471 MiB</total><free>188729 MiB</free></fb_memory_usage>
<ecc_errors><volatile><sram_correctable>9</sram_correctable>
<sram_uncorrectable_parity>1</sram_uncorrectable_parity><dram_uncorrectable>2</dram_uncorrectable></volatile>
<aggregate><dram_uncorrectable>50</dram_uncorrectable></aggregate></ecc_errors>
<remapped_rows><remapped_row_unc>3</remapped_row_unc><remapped_row_pending>Yes</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows>
<gpu_power_readings><current_power_limit>1200.00 W</current_power_limit></gpu_power_readings>
<max_clocks><sm_clock>2062 MHz</sm_clock></max_clocks>
<fabric><state>Completed</state><status>Success</status><cliqueId>2</cliqueId><clusterUuid>c</clusterUuid>
<health><summary>Healthy</summary><bandwidth>Full</bandwidth>
<route_recovery_in_progress>N/A</route_recovery_in_progress></health></fabric></gpu></nvidia_smi_log>"""
TEXT = """\
==============NVSMI LOG==============
Driver Version                            : 580.1
GPU 00000008:01:00.0
    Product Name                          : NVIDIA GB200
    VBIOS Version                         : 97.00.B9.00.69
    Platform Info
        Peer Type                         : Switch Connected
    GPU Recovery Action                   : None
    Clocks Event Reasons
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : N/A
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 189471 MiB
        Free                              : 188729 MiB
    ECC Errors
        Volatile
            SRAM Correctable              : 9
            SRAM Uncorrectable Parity     : 1
            DRAM Uncorrectable            : 2
        Aggregate
            DRAM Uncorrectable            : 50
    Remapped Rows
        Uncorrectable Error               : 3
        Pending                           : Yes
        Remapping Failure Occurred        : No
    GPU Power Readings
        Current Power Limit               : 1200.00 W
    Max Clocks
        SM                                : 2062 MHz
    Fabric
        State                             : Completed
        Status                            : Success
        CliqueId                          : 2
        ClusterUUID                       : c
        Health
            Summary                       : Healthy
            Bandwidth                     : Full
            Route Recovery in progress    : N/A
"""
HEALTH = GpuHealth(
    remap_pending=True,
    remap_failure=False,
    recovery_action="None",
    fabric_state="Completed",
    fabric_status="Success",
    fabric_clique="2",
    fabric_cluster="c",
    fabric_health=(("summary", "Healthy"), ("bandwidth", "Full")),
    peer_type="Switch Connected",
    remapped_rows=3,
    uncorrectable_errors=3,
    slowdowns=("hw_slowdown",),
    power_limit_w=1200.0,
    clock_max_mhz=2062,
    vbios="97.00.B9.00.69",
)


def test_both_forms() -> None:
    for parse, said in ((parse_xml, XML), (parse_text, TEXT)):
        answer = parse(said)
        assert not isinstance(answer, Unknown)
        gpu = gpu_fact(0, answer.gpus[0], None, None)
        assert (gpu.health, gpu.free_bytes) == (HEALTH, 188729 << 20)


def test_not_supported_is_not_the_same_as_not_applicable() -> None:
    for word, state in (("Not Supported", "Not Supported"), ("N/A", None), ("[N/A]", None), ("", None)):
        answer = parse_text(TEXT.replace("State                             : Completed", f"State     : {word}"))
        assert not isinstance(answer, Unknown)
        assert gpu_fact(0, answer.gpus[0], None, None).health.fabric_state == state


def test_older_drivers_call_it_throttle_reasons_and_double_bits() -> None:
    old = TEXT.replace("Clocks Event Reasons", "Clocks Throttle Reasons")
    answer = parse_text(old)
    assert not isinstance(answer, Unknown)
    assert gpu_fact(0, answer.gpus[0], None, None).health.slowdowns == ("hw_slowdown",)
    xml = """<nvidia_smi_log><gpu id="00000000:01:00.0"><ecc_errors><volatile><single_bit><total>8</total></single_bit>
    <double_bit><total>4</total></double_bit></volatile></ecc_errors>
    <power_readings><power_limit>300.00 W</power_limit></power_readings></gpu></nvidia_smi_log>"""
    found = parse_xml(xml)
    assert not isinstance(found, Unknown)
    health = gpu_fact(0, found.gpus[0], None, None).health
    assert (health.uncorrectable_errors, health.power_limit_w, health.slowdowns) == (4, 300.0, None)


def test_columns_of_query_gpu() -> None:
    table = (
        "index, name, memory.total [MiB], memory.free [MiB], vbios_version, gpu_recovery_action, power.limit [W], "
        "clocks.max.sm [MHz], fabric.state, fabric.status, remapped_rows.pending, clocks_event_reasons.hw_slowdown, "
        "ecc.errors.uncorrected.volatile.total\n"
        "0, NVIDIA H200, 143771 MiB, 100 MiB, 96.00, Reset, 700.00 W, 1980 MHz, Completed, Success, No, Active, 5\n"
    )
    gpu = gpu_fact(0, read_row(parse_rows(table)[0]), None, None)
    assert (gpu.name, gpu.memory_bytes, gpu.free_bytes) == ("NVIDIA H200", 143771 << 20, 100 << 20)
    assert gpu.health == GpuHealth(
        remap_pending=False,
        recovery_action="Reset",
        fabric_state="Completed",
        fabric_status="Success",
        uncorrectable_errors=5,
        slowdowns=("hw_slowdown",),
        power_limit_w=700.0,
        clock_max_mhz=1980,
        vbios="96.00",
    )


def test_tables_of_other_columns() -> None:
    assert parse_rows("gpu_index, pid, used_memory\n0, 22011, 13021 MiB\n")[0]["pid"] == "22011"
    assert parse_rows("driver_version\n580.105.08\n") == [{"driver_version": "580.105.08"}]
    assert parse_rows("0, None\n1, Reset\n") == []
