def recorded_hammer(name, head_density):
    def resize(v, recorded):
        masses = recorded
    return resize
