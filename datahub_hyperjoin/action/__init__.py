"""A DataHub Action that lets decisions and new tables take effect within seconds.

DataHub's framework of actions loads `datahub_hyperjoin.action.plugin`, which needs the extra
`actions`.
"""
