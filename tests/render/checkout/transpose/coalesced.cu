// The sample's diagnosis names lines of this file.
