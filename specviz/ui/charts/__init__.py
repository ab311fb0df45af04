"""Charts over rounds and over K."""
