"""What Prometheus and Grafana need to watch one deployment: generated from its real addresses."""
