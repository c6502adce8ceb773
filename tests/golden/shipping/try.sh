umask 077
cd -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210' || exit 1
command -v python3 >/dev/null || exit 0
python3 - http://10.2.0.1:4000/secret/ <<'END_OF_PROGRAM'
import pathlib, sys, urllib.request
if sys.version_info < (3, 8):
    sys.exit("the Python here is too old to fetch files")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for url in sys.argv[1:]:
    try:
        with opener.open(url, timeout=5) as answer:
            if answer.status == 200:
                pathlib.Path(".source.new").write_text(url)
                pathlib.Path(".source.new").replace(".source")
                print("reached")
                break
    except OSError as error:
        print(error, file=sys.stderr)
END_OF_PROGRAM
