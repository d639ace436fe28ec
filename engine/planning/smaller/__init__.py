"""Question 5: a smaller model of the same loss, trained for longer."""
