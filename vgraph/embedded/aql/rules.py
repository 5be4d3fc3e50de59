"""placeholder"""
from __future__ import annotations
from .build import Context
from .plan import Plan

def optimize(plan: Plan, context: Context, disabled: frozenset[str] = frozenset()) -> Plan:
    return plan
