"""The laws that come with Isoplan, a module for each form."""
