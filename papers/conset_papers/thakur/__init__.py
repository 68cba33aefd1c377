"""Thakur, Choudhary and Fox: Complete exchange on a wormhole routed mesh (1993)."""
