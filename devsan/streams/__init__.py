"""The check of streams: what runs in the right order by luck is told, once for each pair of places."""
