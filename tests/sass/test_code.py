from ncuview.sass.code import Code, analysis
from tests.sass.program import program


def test_an_analysis_is_computed_once_for_each_object() -> None:
    calls: list[Code] = []

    @analysis
    def length(code: Code) -> int:
        calls.append(code)
        return len(code)

    one, same_text = program("NOP\nEXIT"), program("NOP\nEXIT")
    assert [length(one), length(one), length(same_text)] == [2, 2, 2]
    assert calls == [one, same_text]
    assert one != same_text


def test_two_analyses_of_one_object_have_separate_results() -> None:
    @analysis
    def first(code: Code) -> str:
        return code.texts[0]

    @analysis
    def last(code: Code) -> str:
        return code.texts[-1]

    code = program("NOP\nEXIT")
    assert (first(code), last(code), first(code)) == ("NOP", "EXIT", "NOP")


def test_positions_of_addresses() -> None:
    code = Code(("NOP", "EXIT"), (32, 48))
    assert [code.position_of(address) for address in (32, 48, 40, None)] == [0, 1, None, None]


def test_opcodes_that_the_table_does_not_cover_are_counted() -> None:
    code = program("FROB.X R4, R5\nFADD R4, R5, R6\n@P0 FROB.X R4, R5\nEXIT")
    assert code.unknown_opcodes == {"FROB.X": 2}
