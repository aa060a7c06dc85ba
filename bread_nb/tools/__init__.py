"""Tools a model may call, and what stands round a call."""

from bread_nb.tools.tool import Tool, ToolContext, human_tool, tool

__all__ = ["Tool", "ToolContext", "human_tool", "tool"]
