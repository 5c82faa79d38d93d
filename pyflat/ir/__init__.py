"""The intermediate language: functions as operations, to build, print, parse, validate and interpret."""
