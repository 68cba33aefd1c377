"""How long a schedule takes, by formula: `predict(schedule) -> Prediction`."""

from conset.predict.evaluate import predict
from conset.predict.prediction import Prediction

__all__ = ["Prediction", "predict"]
