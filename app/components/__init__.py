"""Components that Streamlit does not provide."""
