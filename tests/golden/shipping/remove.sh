cd -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210' && rm -f -- a-1.0+cpu-py3-none-any.whl
