"""A double of DataHub's metadata service: real HTTP, aspects that it keeps and answers from."""
