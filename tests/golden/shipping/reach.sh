proxy=''
if [ -n "$proxy" ]; then export http_proxy="$proxy" https_proxy="$proxy" no_proxy=''; fi
index=''
if [ -z "$index" ]; then
  own="${UV_DEFAULT_INDEX:-}${UV_INDEX:-}${UV_FIND_LINKS:-}${PIP_INDEX_URL:-}${PIP_EXTRA_INDEX_URL:-}${PIP_FIND_LINKS:-}"
  for file in /etc/pip.conf /etc/xdg/pip/pip.conf "${HOME:-}/.config/pip/pip.conf" "${HOME:-}/.pip/pip.conf" \
    /etc/uv/uv.toml "${HOME:-}/.config/uv/uv.toml"; do
    if [ -s "$file" ]; then own=$file; fi
  done
  if [ -n "$own" ]; then echo unknown; exit 0; fi
fi
if ! command -v python3 >/dev/null; then index=; fi
if [ -n "$index" ] || python3 -c 'import pip' 2>/dev/null; then
  timeout 12 python3 - "$index" <<'END' && exit 0
import sys, urllib.error, urllib.request
index = sys.argv[1]
if not index:
    from pip._internal.models.index import PyPI
    index = PyPI.simple_url
try:
    urllib.request.urlopen(urllib.request.Request(index.rstrip("/") + "/pip/", method="HEAD"), timeout=8).close()
except urllib.error.HTTPError:
    pass
except (OSError, ValueError) as error:
    print("unreached", getattr(error, "reason", error))
    sys.exit(0)
print("reached")
END
  echo 'unreached no answer within 12 s'
  exit 0
fi
if [ -z "$(ip route show default 2>/dev/null; ip -6 route show default 2>/dev/null)" ]; then
  echo 'unreached no default route'
else
  echo 'unknown'
fi
