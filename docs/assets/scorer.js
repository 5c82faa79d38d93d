// How a search ranks its results: as Sphinx does, pages for contributors after all others. A hit in a section, in the
// index or in the text of a page counts for the page, so that Sphinx, which drops equal results, lists it once.
var Scorer = {
  score: (result) => {
    if (result[6] !== "object") [result[1], result[2]] = [result[1].split(" > ")[0], ""];
    return result[0].startsWith("contributors/") ? result[4] - 1000 : result[4];
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
