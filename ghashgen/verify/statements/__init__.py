"""What an object claims: its functions, their parameters and convention. Pure data."""
