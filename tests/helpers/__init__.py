"""What tests share: no module here has a test."""
