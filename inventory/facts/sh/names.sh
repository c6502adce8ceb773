# shellcheck shell=sh
# What names lead to here. A name server that hangs costs this section only.
section_names() {
    item own getent ahosts "$(uname -n)"
    item hosts-file own_lines
    item proxies proxies
    item installers installers
    item hub-token hub_token
    asked_addresses name_of
}

own_lines() {
    grep -w -F -e "$(uname -n)" /etc/hosts || true
}

# Without names and passwords.
proxies() {
    env | grep -i -E '^(https?|all|no)_proxy=' | sed 's,://[^/@]*@,://,'
}

installers() {
    env | grep -E '^(PIP|UV)_' | sed 's,://[^/@]*@,://,g'
}

# Whether the hub's client would find a token, never which.
hub_token() {
    [ -z "${HF_TOKEN:-}${HUGGING_FACE_HUB_TOKEN:-}" ] || echo variable
    [ ! -s "${HF_TOKEN_PATH:-${HF_HOME:-${HOME:-}/.cache/huggingface}/token}" ] || echo file
}

# name_of NAME: one page for a name, nothing for an address.
name_of() {
    case $1 in
    *:*) ;;
    *[!0-9.]*) page name "$1" getent ahosts "$1" ;;
    esac
}
