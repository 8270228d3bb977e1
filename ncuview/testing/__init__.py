"""What a user's own tests ask of a profiled kernel."""
