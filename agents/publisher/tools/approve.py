"""The editor's word on a topic, before anything is written."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bread_nb import human_tool


class Topic(BaseModel):
    """What the editor is asked about."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"topic": "Rye bread"},
                {"topic": "Sourdough"},
                {"topic": "Salt"},
            ]
        }
    )

    topic: str = Field(description="The topic of the post, in a few words.")


class Word(BaseModel):
    """What the editor says."""

    decision: Literal["write it", "drop it"]
    note: str = ""


approve = human_tool(
    "approve",
    args=Topic,
    answer=Word,
    description="Ask the editor whether to write about a topic.",
)
