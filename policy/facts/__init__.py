"""Facts: what is known of one deployment, and what is not."""
