"""How long a schedule takes, by formula: `predict(schedule) -> Prediction`."""
