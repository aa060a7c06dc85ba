"""What is set right in ipykernel, and what is left alone."""

from bread_nb.notebook.channels import listen, pin


def test_a_comm_that_is_rerouted_is_pinned_and_others_are_left_alone():
    class Rerouted:
        def _reply_subshell_for(self, data: object, default: object) -> object:
            return "the main shell"

    class Plain:
        pass

    comm, plain = Rerouted(), Plain()
    pin(comm)
    pin(plain)
    pin(None)
    assert comm._reply_subshell_for({}, "the subshell") == "the subshell"
    assert vars(plain) == {}


def test_a_shell_of_a_terminal_has_no_channels_to_mend():
    assert listen(object())() is None
