"""Questions over an encyclopedia, with proofs: multi-condition obfuscation, multi-hop chains, filters."""
