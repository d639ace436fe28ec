"""An example question for the planner, in two modules: what is the loss at a multiple of the budget?"""
