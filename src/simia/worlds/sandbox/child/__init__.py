"""What runs in the child process of a sandbox. It is started without site-packages, so it imports nothing of simia."""
