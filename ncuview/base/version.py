"""The version of ncuview as the constant ``VERSION``; the build reads it from here."""

VERSION = "0.2.0"
