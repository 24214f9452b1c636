"""What people are asked to do while they are recorded (section 2.4.1, "Task Design and Collection")."""
