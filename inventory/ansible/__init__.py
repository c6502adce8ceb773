"""Reading an existing Ansible inventory: who the hosts are and how ssh reaches them; no templates, no secrets."""
