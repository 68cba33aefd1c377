"""How long a schedule takes, by formula: `predict(schedule) -> Prediction`."""

from conset.models.formula.evaluate import predict
from conset.models.formula.prediction import Prediction

__all__ = ["Prediction", "predict"]
