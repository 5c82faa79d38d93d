// How a search ranks its results: as Sphinx does, pages for contributors after all others.
var Scorer = {
  score: ([docname, , , , score]) => (docname.startsWith("contributors/") ? score - 1000 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
