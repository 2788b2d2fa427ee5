"""The real SGLang: its trees against the model, the plugin, workers and replays."""
