"""The JSON documents that ncuview prints, as dataclasses: a field for each key, in the order of the keys.

``render`` fills them from the records; ``records.schema`` makes their JSON values and their JSON Schemas.
"""
