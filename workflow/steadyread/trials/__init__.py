"""Arms times items to trials, from frozen manifests."""
