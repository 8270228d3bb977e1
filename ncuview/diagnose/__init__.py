"""From a Profile to a Diagnosis: which rules fire, what each change would gain, what to do first."""
