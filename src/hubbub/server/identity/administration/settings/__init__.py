"""Administration of features and legal documents."""
