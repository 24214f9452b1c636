"""Recordings of other tools in and out: AgentNetTool's folders, openadapt-capture's databases."""
