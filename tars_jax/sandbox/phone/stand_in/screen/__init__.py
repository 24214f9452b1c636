"""What a stand-in draws its screens with: widgets, their layout, a canvas."""
