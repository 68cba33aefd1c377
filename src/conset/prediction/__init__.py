"""How long a schedule takes, by formula: `predict(schedule) -> Prediction`."""

from conset.prediction.evaluate import predict
from conset.prediction.prediction import Prediction

__all__ = ["Prediction", "predict"]
