"""Projects: folders, their configuration, and what a person is shown of them."""
