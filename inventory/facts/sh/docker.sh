# shellcheck shell=sh
# What docker holds and runs, as the login user may see it.
section_docker() {
    item info docker info --format '{{json .}}'
    [ "$(cat docker.status)" = 'docker.info 0' ] || return
    item root docker_root
    item images docker_images &
    item containers docker_containers &
    wait
}

# Where images lie, and what that lies on.
docker_root() {
    docker_folder=$(sed -n 's/.*"DockerRootDir":"\([^"]*\)".*/\1/p' docker.info.out)
    [ -n "$docker_folder" ] || return
    keyed "$docker_folder" disk_of "$docker_folder"
}

# One JSON object a line. Environments are left out: they may hold secrets.
docker_images() {
    docker image ls --quiet --no-trunc | sort -u | head -n 60 | xargs -r docker image inspect --format \
        '{"Id":{{json .Id}},"RepoTags":{{json .RepoTags}},"RepoDigests":{{json .RepoDigests}},"RootFS":{{json .RootFS}},"Os":{{json .Os}},"Architecture":{{json .Architecture}},"Size":{{json .Size}}}'
}

# Of the command the first words alone: later ones may be a key.
docker_containers() {
    # shellcheck disable=SC2016  # variables of docker's own templates
    docker ps --quiet --no-trunc | head -n 60 | xargs -r docker container inspect --format \
        '{"Name":{{json .Name}},"Image":{{json .Config.Image}},"StopTimeout":{{json .Config.StopTimeout}},"Path":{{json .Path}},"Args":[{{range $at, $word := .Args}}{{if lt $at 3}}{{if $at}},{{end}}{{json $word}}{{end}}{{end}}],"Pid":{{json .State.Pid}},"Devices":{{json .HostConfig.Devices}}}'
}
