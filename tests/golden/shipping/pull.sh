docker pull reg.test:5000/cache/vllm/vllm-openai@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd || {
  # Docker's own last word, from the output of this job.
  why=$(tail -n 1 "${JOB:-/dev/null}/output" 2>/dev/null | tr '\t' ' ' | cut -c 1-200) || why=
  printf 'outcome\timage-pull %s: %s\n' vllm/vllm-openai:kimi-k31@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd "$why"
  exit 1
}
case $(docker image inspect --format '{{json .RepoDigests}}' reg.test:5000/cache/vllm/vllm-openai@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd) in
*@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd*) ;;
*) printf 'outcome\timage-mismatch %s\n' vllm/vllm-openai:kimi-k31@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd; exit 1 ;;
esac
docker tag reg.test:5000/cache/vllm/vllm-openai@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd bringup/vllm-openai:dddddddddddd
