const TICK = 'worker tick', SAME_TIME = 'worker has the same time';
