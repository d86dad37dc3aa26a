"""A DataHub Action that applies decisions and finds joins for new tables within seconds.

DataHub's framework of actions loads `datahub_hyperjoin.action.plugin`, which needs the extra
`actions`.
"""
