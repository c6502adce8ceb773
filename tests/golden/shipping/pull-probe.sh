docker version >/dev/null || exit 1
found=$(docker image inspect --format '{{json .RepoDigests}}' bringup/vllm-openai:dddddddddddd 2>/dev/null) || found=
case $found in
*@sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd*) printf %s 'digest sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd' ;;
'') printf absent ;;
*) printf other ;;
esac