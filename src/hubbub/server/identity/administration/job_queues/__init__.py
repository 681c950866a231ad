"""Administration of job queues."""
