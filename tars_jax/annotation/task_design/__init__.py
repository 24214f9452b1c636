"""Task design: tasks that people do while they are recorded (section 2.4.1, "Task Design and Collection")."""
